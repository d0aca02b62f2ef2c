#include "CNacreStart.h"

#include <stddef.h>

// OpenSSL by default frees what it has at exit(), while other threads of the process still use it: an app that ends in the middle of a transfer would crash.
// The first call decides, so it comes before that of libcurl. Weak, so that no OpenSSL need be linked.
#ifdef __linux__
#define NO_CLEANUP_AT_EXIT 0x00080000ULL // OPENSSL_INIT_NO_ATEXIT, openssl/crypto.h
extern int OPENSSL_init_crypto(unsigned long long options, const void *settings) __attribute__((weak));

static void keep_crypto(void) {
    if (OPENSSL_init_crypto) OPENSSL_init_crypto(NO_CLEANUP_AT_EXIT, NULL);
}
#else
static void keep_crypto(void) {}
#endif

// Archives made on Apple's systems name classes as Objective-C does, without a module. NSKeyedUnarchiver must know these names before it reads
// the first archive, and an app may read one before it has called anything of CloudKit's. The same holds for compounds that an app prints.
__attribute__((constructor)) static void before_main(void) {
    keep_crypto();
    nacre_before_main();
}

// Weak, so that a Foundation without them can be linked.
#ifdef __linux__
extern const char predicate_format __asm__("$s10Foundation11NSPredicateC15predicateFormatSSvg") __attribute__((weak));
extern const char description __asm__("$s10Foundation8NSObjectC11descriptionSSvg") __attribute__((weak));

const void *nacre_inherited_predicate_format(void) { return &predicate_format; }
const void *nacre_inherited_description(void) { return &description; }
#else
const void *nacre_inherited_predicate_format(void) { return NULL; }
const void *nacre_inherited_description(void) { return NULL; }
#endif
