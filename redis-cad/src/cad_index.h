/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_index.h -- u(key): the offset of a key's last update, while that is not durable.
 */
#ifndef CAD_INDEX_H
#define CAD_INDEX_H

#include <stddef.h>
#include <stdint.h>

typedef struct cadIndex cadIndex;

cadIndex *cadIndexNew(void);
void cadIndexFree(cadIndex *index);
/* `hash`: 64 well mixed bits of the key, the same each time. */
void cadIndexStamp(cadIndex *index, int db, uint64_t hash, long long offset, size_t max);
long long cadIndexLookup(cadIndex *index, int db, uint64_t hash);
void cadIndexRaiseBarrier(cadIndex *index, long long offset);
void cadIndexPrune(cadIndex *index, long long durable, size_t limit);
long long cadIndexBarrier(const cadIndex *index);
long long cadIndexFloor(const cadIndex *index);
size_t cadIndexSize(cadIndex *index);
size_t cadIndexBytes(const cadIndex *index);

#endif
