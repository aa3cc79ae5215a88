// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.config;

/**
 * A setting that cannot be honoured. The message is one line: the setting,
 * the reason, the remedy.
 */
public final class SettingException extends IllegalArgumentException {

    private static final long serialVersionUID = 1L;

    public SettingException(String setting, String reason, String remedy) {
        super(setting + ": " + reason + "; " + remedy);
    }

    /** @param refusal whose message is such a line already */
    SettingException(IllegalArgumentException refusal) {
        super(refusal.getMessage(), refusal);
    }
}
