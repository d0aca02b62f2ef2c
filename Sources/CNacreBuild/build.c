#include "CNacreBuild.h"

// Package.swift defines it where NACRE_COMMIT is set. C, because a Swift module cannot be given a text; apart, so that another commit compiles this file alone.
#ifndef NACRE_COMMIT
#define NACRE_COMMIT ""
#endif

const char *nacre_build_commit(void) { return NACRE_COMMIT; }
