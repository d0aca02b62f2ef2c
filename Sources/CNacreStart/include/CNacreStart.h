#ifndef CNACRE_START_H
#define CNACRE_START_H

/// Defined by `CloudKit`; called once, before `main`.
void nacre_before_main(void);

/// The getters of `NSPredicate.predicateFormat` and `NSObject.description`, which `NSCompoundPredicate` inherits; NULL where Foundation is
/// another than Linux's.
const void *_Nullable nacre_inherited_predicate_format(void);
const void *_Nullable nacre_inherited_description(void);

/// Runs `path agent` in a session of its own, with the caller's environment and nothing else of it but a pipe for what it prints.
///
/// - Returns: 0, or what errno says. `process` is to be waited for, and `output` to be closed, where it is 0.
int nacre_start_agent(const char *_Nonnull path, int *_Nonnull process, int *_Nonnull output);

#endif
