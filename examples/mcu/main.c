/* Runs a generated model on a Cortex-M without an operating system and without a C library: a vector table,
 * start-up code, and semihosting output, which qemu prints. */
#include <stdint.h>

#include "digits.h"

enum { kImages = 10 };
extern const float images[kImages][DIGITS_IN0_COUNT]; /* images.S */
extern uint32_t data_begin, data_end, data_source, bss_begin, bss_end, stack_top;

static float logits[DIGITS_OUT0_COUNT];

static void debugger(uint32_t operation, const void *argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

static void write_hexadecimal(uint32_t number) {
  char text[10];
  for (int i = 0; i < 8; ++i) text[i] = "0123456789abcdef"[number >> (28 - 4 * i) & 15];
  text[8] = '\n';
  text[9] = 0;
  debugger(0x04 /* SYS_WRITE0 */, text);
}

/* Prints the bits of the ten scores, one per line. */
static void show(void) {
  for (int i = 0; i < DIGITS_OUT0_COUNT; ++i) {
    union { float number; uint32_t bits; } score;
    score.number = logits[i];
    write_hexadecimal(score.bits);
  }
}

void start(void) {
  const uint32_t *from = &data_source;
  for (uint32_t *to = &data_begin; to < &data_end;) *to++ = *from++;
  for (uint32_t *to = &bss_begin; to < &bss_end;) *to++ = 0;
  for (int i = 0; i < kImages; ++i) {
    digits_run(images[i], logits);
    show();
  }
  debugger(0x18 /* SYS_EXIT */, (const void *)0x20026 /* success */);
  for (;;) {}
}

static void fault(void) {
  debugger(0x04, "fault\n");
  debugger(0x18, (const void *)0x20023);
  for (;;) {}
}

__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
    (void (*)(void))(uintptr_t)&stack_top, start, fault, fault, fault, fault, fault};
