// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the objects that open one directory share. */
class StoreTest {

    @TempDir
    Path temp;

    private File version;
    private Store store;

    @BeforeEach
    void open() {
        version = temp.resolve("data/version-2").toFile();
        assertTrue(version.mkdirs());
        store = Store.of(version);
    }

    @Test
    void oneStoreForEachDirectory() {
        assertSame(store, Store.of(new File(version, "../version-2")));
    }

    @Test
    void sideFilesLieBesideUpstreamsFiles() throws IOException {
        assertEquals(temp.resolve("data/cad/v1").toFile(), store.sideDirectory());
        assertTrue(store.sideDirectory().isDirectory());
    }

    @Test
    void announcesInOrderAndOnlyWhatIsNew() throws IOException {
        List<Long> heard = new ArrayList<>();
        store.listen(heard::add, 5);
        store.persisted(5);
        store.persisted(8);
        store.persisted(7);
        assertEquals(List.of(8L), heard);
        assertEquals(8, store.mark().value());
    }

    @Test
    void cutLowersWhatIsPersisted() throws IOException {
        List<Long> heard = new ArrayList<>();
        store.listen(heard::add, 0);
        store.persisted(8);
        store.cut(3);
        assertEquals(3, store.persisted());
        assertEquals(3, store.mark().value());
        store.persisted(4);
        assertEquals(List.of(8L, 4L), heard);
    }

    @Test
    void anEndedRoleHearsNothing() {
        List<Long> first = new ArrayList<>();
        List<Long> second = new ArrayList<>();
        Store.PersistedListener old = first::add;
        store.listen(old, 0);
        store.listen(second::add, 0);
        store.release(old);
        store.persisted(1);
        assertEquals(List.of(), first);
        assertEquals(List.of(1L), second, "the end of the old role must not silence the new one");
    }
}
