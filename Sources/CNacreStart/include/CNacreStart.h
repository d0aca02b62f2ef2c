#ifndef CNACRE_START_H
#define CNACRE_START_H

/// Defined by `CloudKit`; called once, before `main`.
void nacre_name_archived_classes(void);

#endif
