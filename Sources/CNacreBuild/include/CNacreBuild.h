#ifndef CNACRE_BUILD_H
#define CNACRE_BUILD_H

/// The commit that this was built from, as `make dist` says it; empty in every other build.
const char *_Nonnull nacre_build_commit(void);

#endif
