#include "CNacreStart.h"

// Archives made on Apple's systems name classes as Objective-C does, without a module. NSKeyedUnarchiver must know these names before it reads
// the first archive, and an app may read one before it has called anything of CloudKit's.
__attribute__((constructor)) static void name_archived_classes(void) {
    nacre_name_archived_classes();
}
