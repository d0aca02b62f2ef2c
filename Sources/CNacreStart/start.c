#include "CNacreStart.h"

#include <stddef.h>

// Archives made on Apple's systems name classes as Objective-C does, without a module. NSKeyedUnarchiver must know these names before it reads
// the first archive, and an app may read one before it has called anything of CloudKit's. The same holds for compounds that an app prints.
__attribute__((constructor)) static void before_main(void) {
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
