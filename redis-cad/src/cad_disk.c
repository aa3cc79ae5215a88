/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_disk.c -- refuses writes before the disk of the append only file is full.
 *
 * A full disk fails a write or a sync, after which the log vouches for nothing. With
 * cad-disk-reserve left, held replies can still be flushed and a rewrite can free space.
 */
#include "server.h"
#include "cad_state.h"
#include <sys/statvfs.h>

#define LOOK_US 100000

int cad_disk_low;

/* Every few ms; looks at the disk ten times a second. */
void cadDiskLook(void) {
    static long long looked;
    struct statvfs disk;
    long long now = getMonotonicUs();
    if (now - looked < LOOK_US && looked) return;
    looked = now;
    if (statvfs(server.aof_dirname, &disk) == -1) return;
    int was = cad_disk_low;
    cad_disk_low = (unsigned long long)disk.f_bavail * disk.f_frsize < cad_config.disk_reserve;
    if (cad_disk_low && !was)
        serverLog(LL_WARNING, "Less than cad-disk-reserve is free on the disk of %s: writes are refused.", server.aof_dirname);
    if (!cad_disk_low && was) serverLog(LL_NOTICE, "The disk has more than cad-disk-reserve free again: writes are accepted.");
}

sds cadDiskMessage(void) {
    return sdscatfmt(sdsempty(),
                     "-MISCONF Less than cad-disk-reserve (%U bytes) is free on the disk of the append only file: free "
                     "some space, or lower cad-disk-reserve\r\n", cad_config.disk_reserve);
}
