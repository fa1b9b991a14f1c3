/// @file
/// The version of onert's API that these headers offer: 0xMMmmmmpp, here 1.31.0.
#pragma once

#define NNFW_VERSION 0x01001f00
