/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_window.h -- since when updates have been waiting for a disk.
 */
#ifndef CAD_WINDOW_H
#define CAD_WINDOW_H

void cadWindowReset(long long history);
void cadWindowDurable(long long durable);
void cadWindowWritten(long long tail, long long durable, long long now, long long most);
long long cadWindowAge(long long durable, long long now);
int cadWindowFull(long long tail, long long durable, long long now, unsigned long long bytes, long long most);

#endif
