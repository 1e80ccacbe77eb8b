;;; driver.el --- Emacs with Eglot, as a plain LSP client -*- lexical-binding: t; -*-

;;; Commentary:

;; Eglot knows nothing of Ropewalk: what holds here holds for any client that speaks LSP and no more.  One scenario is
;; played a run, in an Emacs with a real command loop but without a terminal:
;;
;;   emacs -Q --fg-daemon=NAME -l driver.el
;;
;; Environment: ROPEWALK_BIN is the sidecar, ROPEWALK_SCENARIO the scenario, ROPEWALK_VERDICT the file that the verdict
;; goes to, as JSON; without a scenario that file gets their names, one a line.

;;; Code:

(require 'package)
;; Where Debian keeps packages; -Q leaves them out.
(add-to-list 'package-directory-list "/usr/share/emacs/site-lisp/elpa")
(package-initialize)
(require 'eglot)
(require 'json)
(require 'seq)
(require 'subr-x)

(defconst driver-deadline 20.0 "How long anything may take before the scenario fails (s).")

(defvar driver-scenarios nil "The scenarios: name and function.")

(defvar driver-folder (file-truename (make-temp-file "ropewalk-eglot" t)) "Where the files of the scenario are.")

(defvar driver-before-edit nil
  "What is done, once, when the sidecar's edit has arrived and is not applied yet: the person is quicker.")

(defmacro scenario (name what &rest body)
  "Define the scenario NAME, which shows WHAT, as BODY."
  (declare (indent 2) (doc-string 2))
  (ignore what)
  `(push (cons ,(symbol-name name) (lambda () ,@body)) driver-scenarios))

(defun same (expected got)
  "Fail unless EXPECTED and GOT are equal."
  (unless (equal expected got)
    (error "Expected %S, got %S" expected got)))

(defun at-rest ()
  "Whether nothing is under way but waiting for a key: what is sent in pieces must not be broken off in the middle."
  (let ((rest t))
    (mapbacktrace (lambda (_evald function &rest _)
                    (when (memq function '(process-send-string accept-process-output execute-kbd-macro))
                      (setq rest nil))))
    rest))

(defun until (what condition)
  "Run the command loop until CONDITION, a function, gives something, and give that; WHAT is what it is.
Only there is Emacs idle, and Eglot sends what was typed when Emacs has been idle for a moment."
  (let* ((limit (+ (float-time) driver-deadline))
         got late
         (looking (run-with-timer 0 0.01 (lambda ()
                                           (when (and (at-rest)
                                                      (or (setq got (funcall condition))
                                                          (setq late (> (float-time) limit))))
                                             (throw 'exit nil))))))
    (unwind-protect
        (recursive-edit)
      (cancel-timer looking))
    (when late
      (error "Waited in vain for %s" what))
    got))

(defun on-disk (name text &optional coding)
  "Make the file NAME with TEXT, in CODING or as it is; give its full name."
  (let ((file (expand-file-name name driver-folder))
        (coding-system-for-write (or coding 'utf-8-unix)))
    (write-region text nil file nil 'silent)
    file))

(defun disk (file)
  "What is in FILE, byte for byte."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally file)
    (buffer-string)))

(define-derived-mode shelf-mode text-mode "Shelf" "A mode that only Ropewalk serves.")
(add-to-list 'auto-mode-alist '("\\.shelf\\'" . shelf-mode))

(defun serve (file)
  "Visit FILE in a window, with the sidecar as its server."
  (find-file file)
  (unless eglot--managed-mode
    (let ((eglot-sync-connect driver-deadline))
      (apply #'eglot (eglot--guess-contact))))
  (until "the sidecar" (lambda () (and eglot--managed-mode (eglot-current-server))))
  (current-buffer))

(defun ask (method params)
  "Ask the sidecar for METHOD with PARAMS and wait for the answer, while Emacs goes on."
  (let (done result fault)
    (jsonrpc-async-request
     (eglot-current-server) method params
     :success-fn (lambda (answer) (setq result answer done t))
     :error-fn (lambda (error) (setq fault error done t))
     :timeout-fn (lambda () (setq fault "no answer" done t))
     :timeout driver-deadline)
    (until (format "the answer to %s" method) (lambda () done))
    (when fault
      (error "%s: %S" method fault))
    result))

(defun call-tool (name arguments)
  "Call the tool NAME with ARGUMENTS and give its result."
  (ask :ropewalk/callTool (list :name name :arguments arguments)))

(defun edit (file old new)
  "Let the agent replace OLD by NEW in FILE."
  (call-tool "edit" (list :file_path file :old_string old :new_string new)))

(defun mirror (file)
  "The text of FILE as the sidecar has it, once it has all that was sent."
  (plist-get (ask :ropewalk/documentText (list :uri (eglot--path-to-uri file))) :text))

(defun done (result)
  "Fail unless RESULT is that of a call that went well, and give it."
  (unless (equal (plist-get result :status) "ok")
    (error "The call failed: %S" result))
  result)

(defun kind (result)
  "The kind of the error that RESULT is."
  (plist-get (plist-get result :error) :kind))

(defun words (result)
  "What RESULT says to the model."
  (mapconcat (lambda (piece) (or (plist-get piece :text) "")) (plist-get result :content) "\n"))

(defun text ()
  "The whole text of the current buffer."
  (save-restriction
    (widen)
    (buffer-substring-no-properties (point-min) (point-max))))

(defun keys (keys)
  "Press KEYS in the selected window, one after the other, as a person would."
  (setq unread-command-events (append unread-command-events (listify-key-sequence (kbd keys))))
  (until "the keys to be taken" (lambda () (null unread-command-events))))

(defun keys-at-once (keys)
  "Press KEYS before anything else happens, within what is happening now."
  (execute-kbd-macro (kbd keys)))

(defun in-step (file)
  "Fail unless the sidecar has exactly the text of the buffer of FILE."
  (with-current-buffer (get-file-buffer file)
    (let ((now (text)))
      (until "all that was typed to be sent" (lambda () (null eglot--recent-changes)))
      (same now (replace-regexp-in-string "\r\n" "\n" (mirror file))))))

(cl-defmethod eglot-handle-request :before (_server (_method (eql workspace/applyEdit)) &rest _)
  "Let the person be quicker than the edit that has just arrived."
  (when-let ((act driver-before-edit))
    (setq driver-before-edit nil)
    (funcall act)))

;; What a person sets who lets a sidecar edit: else each edit of a file without a buffer is asked about, as without this.
(setq eglot-confirm-server-initiated-edits nil
      eglot-autoshutdown nil
      eglot-events-buffer-size 0
      eglot-extend-to-xref nil
      create-lockfiles nil
      make-backup-files nil
      auto-save-default nil
      project-vc-ignores nil
      inhibit-message t)

(add-to-list 'eglot-server-programs
             `(shelf-mode . (,(getenv "ROPEWALK_BIN") "--ephemeral" "--log" ,(expand-file-name "log" driver-folder))))

(load (expand-file-name "scenarios.el" (file-name-directory load-file-name)) nil t)

(defun driver-tell (verdict)
  "Write VERDICT where the one who started us looks for it."
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region verdict nil (getenv "ROPEWALK_VERDICT") nil 'silent)))

(defun driver-leave ()
  "End the sidecar in its own way, then Emacs; what the sidecar's end was, is part of the verdict."
  (let ((server (eglot-current-server)))
    (when server
      (eglot-shutdown server nil 5 nil))))

(defun driver-run (name)
  "Play the scenario NAME and tell how it went."
  (let ((fault (condition-case fault
                   (progn
                     (funcall (or (cdr (assoc name driver-scenarios)) (error "No scenario %s" name)))
                     (driver-leave)
                     nil)
                 ((error quit) (error-message-string fault)))))
    (driver-tell (json-encode `((ok . ,(if fault :json-false t))
                                (detail . ,(or fault ""))
                                (log . ,(ignore-errors (disk (expand-file-name "log" driver-folder)))))))
    (delete-directory driver-folder t)
    (let ((kill-emacs-hook nil) (confirm-kill-processes nil))
      (kill-emacs (if fault 1 0)))))

(let ((name (getenv "ROPEWALK_SCENARIO")))
  (if (or (null name) (string-empty-p name))
      (progn
        (driver-tell (concat (string-join (sort (mapcar #'car driver-scenarios) #'string<) "\n") "\n"))
        (kill-emacs 0))
    ;; Once the command loop runs.
    (run-with-timer 0 nil #'driver-run name)))

;;; driver.el ends here
