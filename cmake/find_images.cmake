# anybit_image_libraries: the decoders of src/images. WebP and OpenJPEG are searched by hand: Debian's package of the first
# has no CMake files, and those of the second require programs that decoding does not need.
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(TIFF REQUIRED)
find_path(ANYBIT_WEBP_HEADERS webp/decode.h REQUIRED)
find_library(ANYBIT_WEBP webp REQUIRED)
find_path(ANYBIT_OPENJPEG_HEADERS openjpeg.h PATH_SUFFIXES openjpeg-2.5 REQUIRED)
find_library(ANYBIT_OPENJPEG openjp2 REQUIRED)
add_library(anybit_image_libraries INTERFACE)
target_include_directories(anybit_image_libraries SYSTEM INTERFACE ${ANYBIT_WEBP_HEADERS} ${ANYBIT_OPENJPEG_HEADERS})
target_link_libraries(anybit_image_libraries INTERFACE PNG::PNG JPEG::JPEG TIFF::TIFF ${ANYBIT_WEBP} ${ANYBIT_OPENJPEG})
