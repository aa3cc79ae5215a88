// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The cores hold what they promise in random lives of a small ensemble, and such lives are wild enough to matter. */
class ClusterTest {
    private static final int STEPS = 600;

    @Test
    void theCoresHold() {
        Seeds.each("cluster", 400, random -> new Cluster(random, new Cores()).run(STEPS));
    }

    /** Positive control: the same lives find these mistakes. */
    @ParameterizedTest
    @EnumSource(value = Variant.class, names = {
        "DURABLE_WITHOUT_A_QUORUM", "QUORUM_BY_COUNTING", "NON_VOTERS_COUNT", "QUORUM_IS_EVERYBODY",
        "OLD_CONFIGURATION_ONLY", "NEW_CONFIGURATION_ONLY", "REPORT_BEFORE_EPOCH_RECORDED_COUNTS",
        "DURABLE_RECOMPUTED_FROM_CURRENT_REPORTS", "DURABLE_IGNORES_APPLIED", "DURABLE_IGNORES_PERSISTED",
        "APPENDED_TAKEN_FOR_PERSISTED", "ESTABLISHED_WITHOUT_A_QUORUM", "ESTABLISHED_WITHOUT_OWN_PART",
        "FLUSH_TARGET_IS_THE_REQUIRED_INDEX", "FLUSH_TARGET_IS_THE_OWN_LOG", "SECOND_ROUND_LOST", "ROUND_PER_REQUEST",
        "ROUND_NEVER_TIMES_OUT", "ROUND_WAITS_FOR_EVERYBODY", "NEED_BEFORE_ESTABLISHMENT_LOST",
        "FOLLOWER_REPORTS_BEFORE_EPOCH_RECORDED", "FOLLOWER_BELIEVES_BEFORE_SYNCHRONISED",
        "FOLLOWER_BELIEVES_OTHER_EPOCHS", "FOLLOWER_BELIEVES_THE_LAST_MESSAGE", "FOLLOWER_CLAIMS_APPLIED_HISTORY",
        "FOLLOWER_ANSWERS_BEFORE_THE_SYNC", "FOLLOWER_ASKS_FOR_EACH_REPLY",
        "REPLY_OVERTAKES_THE_QUEUE", "REPLIES_LEAVE_IN_ORDER_OF_INDEX", "ABSENCE_TREATED_AS_DURABLE",
        "NO_BARRIER_AT_START", "BOUND_DROPS_ITEMS", "FIRST_TOUCH_WINS"})
    void theyNoticeWrongCores(Variant variant) {
        for (long seed = 0; seed < 500; seed++) {
            try {
                new Cluster(new Random(seed), variant.cores).run(STEPS);
            } catch (AssertionError | InvariantViolation e) {
                System.out.println(variant + ": seed " + seed + ": " + e.getMessage());
                return;
            }
        }
        fail("500 lives do not notice " + variant);
    }
}
