;; SPDX-License-Identifier: Apache-2.0
(ns cad.fi
  "Runs the fi command. A client is a map of `:binary`, the path of the command, and `:run`,
  the run directory. Every call waits until the command has done its work."
  (:require [clojure.data.json :as json]
            [clojure.string :as str])
  (:import (java.lang ProcessBuilder$Redirect)
           (java.util List)))

(defn client
  "A client of one run directory; it has no state of its own."
  [binary run]
  {:binary (str binary), :run (str run)})

(defn call!
  "Any verb, for example `(call! fi \"disk\" \"stat\" \"d1\")`. Arguments become strings. Returns
  the answer with keywords for keys. Throws ex-info with `:type :fi`, `:exit` (2 refused, 254
  wrong arguments, 255 failed) and `:said` if the command does not end with 0."
  [{:keys [binary run]} & args]
  (let [command (into [binary "--json" "--run" run] (map str) args)
        errors  (java.io.File/createTempFile "fi-" ".err")]
    (try
      (let [p    (-> (ProcessBuilder. ^List command)
                     (.redirectError (ProcessBuilder$Redirect/to errors))
                     .start)
            _    (.close (.getOutputStream p))
            out  (slurp (.getInputStream p))
            exit (.waitFor p)]
        (if (zero? exit)
          (json/read-str out :key-fn keyword)
          (let [said (str/trim (slurp errors))]
            (throw (ex-info said {:type :fi, :exit exit, :said said, :args args})))))
      (finally (.delete errors)))))

(defn create-disk!
  "Makes a disk of a directory; what is there already is durable."
  [fi disk backend live]
  (call! fi "disk" "create" disk "--backend" (name backend) "--dir" live))

(defn env
  "What a process needs in its environment to live on a disk: a map of strings."
  [fi disk]
  (update-keys (call! fi "disk" "env" disk) name))

(defn crash!
  "Cuts the power of disks. Returns what each has lost, in order."
  [fi disks]
  (let [answer (apply call! fi "disk" "crash" "--wait" "10s" disks)]
    (:disks answer [answer])))

(defn partition!
  "Cuts the network in two by a pattern: :halves, :majority, :ring, :isolate or :one-way."
  [fi pattern]
  (call! fi "net" "partition" (name pattern)))

(defn heal!
  "Takes every fault, delay and pause back."
  [fi]
  (call! fi "heal" "--all"))

(defn faults
  "What was done, in order, with monotonic time stamps in ns: `:begin_ns`, `:end_ns`, `:do`, `:mark`."
  [fi]
  (call! fi "log"))

(defn down!
  "Ends everything of the run directory; safe at any time."
  [fi]
  (call! fi "down" "--all"))
