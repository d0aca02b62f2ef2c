// CRC-32C by the processor's own instruction: Swift cannot name it.
#pragma once
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#define NACRE_CRC32C_TARGET __attribute__((target("sse4.2")))
#define NACRE_CRC32C_EIGHT(crc, word) ((uint32_t)__builtin_ia32_crc32di(crc, word))
#define NACRE_CRC32C_ONE(crc, byte) __builtin_ia32_crc32qi(crc, byte)
static inline int nacre_has_crc32c(void) {
    return __builtin_cpu_supports("sse4.2") != 0;
}
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#define NACRE_CRC32C_TARGET __attribute__((target("crc")))
#define NACRE_CRC32C_EIGHT(crc, word) __builtin_arm_crc32cd(crc, word)
#define NACRE_CRC32C_ONE(crc, byte) __builtin_arm_crc32cb(crc, byte)
static inline int nacre_has_crc32c(void) {
    const unsigned long crc32 = 1 << 7; // HWCAP_CRC32 of <asm/hwcap.h>
    return (getauxval(AT_HWCAP) & crc32) != 0;
}
#else
#define NACRE_CRC32C_TARGET
#define NACRE_CRC32C_EIGHT(crc, word) (__builtin_unreachable(), crc)
#define NACRE_CRC32C_ONE(crc, byte) (__builtin_unreachable(), crc)
static inline int nacre_has_crc32c(void) {
    return 0;
}
#endif

// To be called only where nacre_has_crc32c says yes. `crc` is the remainder itself, not turned round.
NACRE_CRC32C_TARGET
static inline uint32_t nacre_crc32c(uint32_t crc, const void *bytes, size_t count) {
    const uint8_t *next = (const uint8_t *)bytes;
    for (; count >= 8; count -= 8, next += 8) {
        uint64_t word;
        __builtin_memcpy(&word, next, 8);
        crc = NACRE_CRC32C_EIGHT(crc, word);
    }
    for (; count > 0; count--, next++) crc = NACRE_CRC32C_ONE(crc, *next);
    return crc;
}
