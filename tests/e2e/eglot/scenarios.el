;;; scenarios.el --- What holds with Emacs and Eglot -*- lexical-binding: t; -*-

;;; Commentary:

;; The rows of docs/CONFORMANCE.md, one scenario each.

;;; Code:

(defconst shelf "alpha\nbeta\ngamma\n" "A text that is enough for most.")

(scenario a_stale_edit_is_computed_anew "The person types between an edit's making and its arrival."
  (let ((file (on-disk "a.shelf" shelf)))
    (serve file)
    (goto-char (point-min))
    (setq driver-before-edit (lambda () (keys-at-once "t o p RET")))
    (done (edit file "beta" "BETA"))
    (same "top\nalpha\nBETA\ngamma\n" (text))
    (in-step file)
    (same shelf (disk file))))

(scenario an_edit_of_a_fresh_document_lands "Eglot's first version is 0, which names no version for some editors."
  (let ((file (on-disk "a.shelf" shelf)))
    (serve file)
    (same 0 eglot--versioned-identifier)
    (done (edit file "alpha" "ALPHA"))
    (same "ALPHA\nbeta\ngamma\n" (text))
    (in-step file)))

(scenario a_stale_edit_at_version_0_lands_nowhere_else "The person types first, in a document that has just been opened."
  (let ((file (on-disk "a.shelf" shelf)))
    (serve file)
    (setq driver-before-edit (lambda () (goto-char (point-min)) (keys-at-once "x RET y RET")))
    (done (edit file "gamma" "GAMMA"))
    (same "x\ny\nalpha\nbeta\nGAMMA\n" (text))
    (in-step file)))

(scenario a_refused_edit_is_told "The person says no to it, as Eglot asks by default: nothing is changed, and the model hears so."
  (let ((file (on-disk "a.shelf" shelf)) (eglot-confirm-server-initiated-edits 'confirm))
    (serve file)
    (setq driver-before-edit (lambda () (setq unread-command-events (list ?n))))
    (let ((result (edit file "beta" "BETA")))
      (same "conflict" (kind result))
      (same "none" (plist-get result :applied))
      (same shelf (text))
      (same shelf (disk file)))
    (setq driver-before-edit (lambda () (setq unread-command-events (list ?y))))
    (done (edit file "beta" "BETA"))
    (same "alpha\nBETA\ngamma\n" (text))
    (in-step file)))

(scenario a_read_only_buffer_takes_edits_of_eglot "Its way to change a buffer looks at no read-only mode; the file stays."
  (let ((file (on-disk "a.shelf" shelf)))
    (serve file)
    (read-only-mode 1)
    (done (edit file "beta" "BETA"))
    (same "alpha\nBETA\ngamma\n" (text))
    (same t (buffer-modified-p))
    (same t buffer-read-only)
    (same shelf (disk file))
    (in-step file)))

(scenario a_file_without_a_buffer_is_written_on_the_disk "No buffer is made for it."
  (let ((open (on-disk "a.shelf" shelf)) (closed (on-disk "b.shelf" shelf)))
    (serve open)
    (let ((buffers (length (buffer-list))))
      (done (edit closed "beta" "BETA"))
      (same "alpha\nBETA\ngamma\n" (disk closed))
      (same nil (get-file-buffer closed))
      (same buffers (length (buffer-list))))
    ;; And one whose buffer was killed.
    (let ((last (on-disk "c.shelf" shelf)))
      (serve last)
      (kill-buffer)
      (switch-to-buffer (get-file-buffer open))
      (done (edit last "gamma" "GAMMA"))
      (same "alpha\nbeta\nGAMMA\n" (disk last)))))

(scenario a_document_that_is_opened_again "The buffer is killed unsaved, visited again, and edited."
  (let ((file (on-disk "a.shelf" shelf)))
    (serve file)
    (on-disk "z.shelf" "z\n")
    (goto-char (point-max))
    (keys "d e l t a RET")
    (in-step file)
    (let ((other (serve (expand-file-name "z.shelf" driver-folder))))
      (with-current-buffer (get-file-buffer file)
        (set-buffer-modified-p nil)
        (kill-buffer))
      (switch-to-buffer other)
      (same shelf (mirror file)))
    (serve file)
    (same shelf (text))
    (done (edit file "beta" "BETA"))
    (same "alpha\nBETA\ngamma\n" (text))
    (in-step file)
    (revert-buffer t t t)
    (same shelf (text))
    (in-step file)
    (done (edit file "gamma" "GAMMA"))
    (same "alpha\nbeta\nGAMMA\n" (text))))

(scenario one_undo_takes_back_exactly_the_edit "Where the person pressed some key between their typing and the edit."
  (pcase-dolist (`(,name ,undo ,left) '(("a.shelf" "C-/" "one alpha\nbeta\ngamma\n")
                                        ("b.shelf" "C-/ C-/" "alpha\nbeta\ngamma\n")))
    (let ((file (on-disk name shelf)))
      (serve file)
      (goto-char (point-min))
      (keys "o n e SPC C-n")
      (done (edit file "beta" "BETA\nBETA"))
      (same "one alpha\nBETA\nBETA\ngamma\n" (text))
      (keys undo)
      (same left (text))
      (in-step file))))

(scenario undo_takes_an_edit_with_the_typing_right_before_it "Emacs ends a step of undo when the next key is pressed."
  (let ((file (on-disk "a.shelf" shelf)))
    (serve file)
    (goto-char (point-min))
    (keys "o n e SPC")
    (done (edit file "beta" "BETA"))
    (keys "C-/")
    (same shelf (text))
    (in-step file)))

(scenario typing_goes_on_while_an_edit_is_under_way "In the line of the edit and elsewhere; no key is lost."
  (let ((file (on-disk "a.shelf" shelf)))
    (serve file)
    (goto-char (point-max))
    (setq driver-before-edit (lambda () (keys-at-once "d e l t a")))
    (done (edit file "beta" "BETA"))
    (keys "! RET")
    (same "alpha\nBETA\ngamma\ndelta!\n" (text))
    (in-step file)))

(scenario crlf_stays "The lines of a file for Windows keep their ends."
  (let ((file (on-disk "a.shelf" "alpha\r\nbeta\r\ngamma\r\n" 'no-conversion)))
    (serve file)
    (same 1 (coding-system-eol-type buffer-file-coding-system))
    (done (edit file "beta" "BETA\nmore"))
    (same "alpha\nBETA\nmore\ngamma\n" (text))
    (in-step file)
    (save-buffer)
    (same "alpha\r\nBETA\r\nmore\r\ngamma\r\n" (disk file))))

(scenario a_byte_order_mark_stays "It is in no place that an edit finds, and is there after a save."
  (let ((file (on-disk "a.shelf" "\xef\xbb\xbf\x61lpha\nbeta\n" 'no-conversion)))
    (serve file)
    (done (edit file "alpha" "ALPHA"))
    (same "ALPHA\nbeta\n" (replace-regexp-in-string "\ufeff" "" (text)))
    (in-step file)
    (save-buffer)
    (same (string-to-unibyte "\xef\xbb\xbf\x41LPHA\nbeta\n") (disk file))))

(scenario a_missing_final_newline_stays_missing "Neither made nor lost, at the very end of the text too."
  (let ((file (on-disk "a.shelf" "alpha\nbeta")))
    (serve file)
    (setq-local require-final-newline nil)
    (done (edit file "beta" "BETA"))
    (same "alpha\nBETA" (text))
    (in-step file)
    (save-buffer)
    (same "alpha\nBETA" (disk file))))

(scenario a_hundred_thousand_lines "Typing at the top, an edit near the end."
  (let* ((lines (mapconcat (lambda (number) (format "line %06d of the shelf" number)) (number-sequence 1 100000) "\n"))
         (file (on-disk "a.shelf" (concat lines "\n"))))
    (serve file)
    (goto-char (point-min))
    (keys "t o p RET")
    (done (edit file "line 099999 of the shelf" "line 099999 of the agent"))
    (same 1 (how-many "^line 099999 of the agent$" (point-min) (point-max)))
    (same "top\nline 000001 of the shelf" (buffer-substring-no-properties (point-min) (+ 28 (point-min))))
    (same 100002 (line-number-at-pos (point-max)))
    (in-step file)))

(scenario two_windows_on_a_buffer_stay_where_they_are "Each keeps its place and its line."
  (let ((file (on-disk "a.shelf" (mapconcat #'number-to-string (number-sequence 1 400) "\n"))))
    (serve file)
    (delete-other-windows)
    (let ((above (selected-window)) (below (split-window)))
      (set-window-point above (save-excursion (goto-char (point-min)) (forward-line 9) (point)))
      (set-window-point below (save-excursion (goto-char (point-min)) (forward-line 299) (point)))
      (done (edit file "150\n151\n152" "150\n151\nin between\n152"))
      (same above (selected-window))
      (same 10 (line-number-at-pos (window-point above)))
      (same 301 (line-number-at-pos (window-point below)))
      (same "300" (with-selected-window below (buffer-substring-no-properties (line-beginning-position)
                                                                              (line-end-position))))
      (in-step file))))

(scenario a_file_that_gets_another_name_while_it_is_open
    "Eglot does not tell of it: what is typed under the new name is in doubt, and nothing is edited, until it is opened again."
  (let* ((file (on-disk "a.shelf" shelf)) (renamed (expand-file-name "b.shelf" driver-folder)))
    (serve file)
    (goto-char (point-max))
    (rename-file file renamed)
    (set-visited-file-name renamed t t)
    (keys "d e l t a RET")
    (until "all that was typed to be sent" (lambda () (null eglot--recent-changes)))
    (let ((result (edit renamed "beta" "BETA")))
      (unless (and (equal "error" (plist-get result :status)) (member (plist-get result :applied) '(nil "none")))
        (error "%S" result)))
    (same "alpha\nbeta\ngamma\ndelta\n" (text))
    (same shelf (disk renamed))
    (save-buffer)
    (kill-buffer)
    (serve renamed)
    (done (edit renamed "beta" "BETA"))
    (same "alpha\nBETA\ngamma\ndelta\n" (text))
    (in-step renamed)))

(scenario columns_behind_an_emoji "Emacs counts characters, the protocol UTF-16 units or bytes."
  (let ((file (on-disk "a.shelf" "😀😀 alpha 👩‍👩‍👧 beta\n")))
    (serve file)
    (done (edit file "alpha" "ALPHA 🧶"))
    (done (edit file "beta" "BETA"))
    (same "😀😀 ALPHA 🧶 👩‍👩‍👧 BETA\n" (text))
    (in-step file)))

(scenario nobody_can_be_asked_so_the_answer_is_no "Eglot shows no question with a diff: what has to be asked is denied."
  (let ((file (on-disk "a.shelf" shelf)))
    (serve file)
    (let ((result (call-tool "bash" (list :command "touch made"))))
      (same "denied" (plist-get result :status))
      (same nil (file-exists-p (expand-file-name "made" driver-folder))))))

;;; scenarios.el ends here
