#ifndef CNACRE_START_H
#define CNACRE_START_H

/// Defined by `CloudKit`; called once, before `main`.
void nacre_before_main(void);

/// The getters of `NSPredicate.predicateFormat` and `NSObject.description`, which `NSCompoundPredicate` inherits; NULL where Foundation is
/// another than Linux's.
const void *_Nullable nacre_inherited_predicate_format(void);
const void *_Nullable nacre_inherited_description(void);

#endif
