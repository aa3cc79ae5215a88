/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_window.h -- since when updates have been waiting for a disk.
 */
#ifndef CAD_WINDOW_H
#define CAD_WINDOW_H

void cadWindowWritten(long long tail, long long durable, long long now, long long most);
long long cadWindowAge(long long durable, long long now);
void cadWindowReset(void);

#endif
