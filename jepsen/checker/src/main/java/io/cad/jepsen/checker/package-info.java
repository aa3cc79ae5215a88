// SPDX-License-Identifier: Apache-2.0
/**
 * Decides from what clients recorded whether reads ever went back: a read must return a state at least as up to date as
 * that of any read, of any client, that completed before it began, and nothing that was read may be missing later.
 *
 * <p>{@link io.cad.jepsen.checker.HistoryReader} reads histories as Jepsen writes them, {@link
 * io.cad.jepsen.checker.HistoryBuilder} takes them from Java; {@link io.cad.jepsen.checker.Checker} decides. Two kinds
 * of evidence are understood: an index of each update (ZooKeeper: the zxid), and chains in which each update names the
 * one before it. The rules are in the README of this folder.
 */
package io.cad.jepsen.checker;
