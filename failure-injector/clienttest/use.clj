;; SPDX-License-Identifier: Apache-2.0
;; Uses every function of the client; throws if one does not do what it says.
(require '[cad.fi :as fi] '[clojure.string :as str])

(let [[binary run live] *command-line-args*
      fi    (fi/client binary run)
      write (fn [disk file]
              (let [p (ProcessBuilder. ["sh" "-c" (str "echo unsynced > " live "/" disk "/" file)])]
                (.putAll (.environment p) (fi/env fi disk))
                (assert (zero? (.waitFor (.start p))))))]
  (doseq [d ["d" "e"]]
    (fi/create-disk! fi d :preload (str live "/" d)))
  (write "d" "f")
  (let [[lost & more] (fi/crash! fi ["d"])]
    (assert (and (= 1 (:files_lost lost)) (= ["f"] (:lost lost)) (nil? more)) (pr-str lost)))
  (write "d" "g")
  (assert (= [1 0] (map :files_lost (fi/crash! fi ["d" "e"]))))
  (fi/call! fi "disk" "fault" "d" "--enospc" "on")
  (assert (true? (get-in (fi/call! fi "disk" "stat" "d") [:control :enospc])))
  (fi/heal! fi)
  (assert (false? (get-in (fi/call! fi "disk" "stat" "d") [:control :enospc])))
  (fi/partition! fi :halves)
  (let [log (fi/faults fi)]
    (assert (= ["net" "partition" "halves"] (:do (last log))) (pr-str log))
    (assert (apply <= (mapcat (juxt :begin_ns :end_ns) log)) (pr-str log)))
  (let [refused (try (fi/crash! fi ["nothing"]) (catch clojure.lang.ExceptionInfo e e))]
    (assert (= [:fi 255] ((juxt :type :exit) (ex-data refused))) (pr-str refused))
    (assert (str/includes? (ex-message refused) "no disk \"nothing\"")))
  (fi/down! fi))
