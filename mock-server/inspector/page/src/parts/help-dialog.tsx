import { Fragment } from "preact";
import { useEffect, useRef } from "preact/hooks";
import "./values/facts.css";
import "./help-dialog.css";

const otherKeys = [
  ["j k", "next and previous row (also the arrow keys, Home, End)"],
  ["/", "search everything"],
  ["f", "to the filter of the view"],
  ["n", "advance the clock to the next timer"],
  ["r", "replay the selected delivery"],
  ["Esc", "close the selected row"],
  ["?", "this list"],
];

interface Props {
  readonly open: boolean;
  readonly views: readonly string[];
  readonly onClose: () => void;
}

export function HelpDialog({ open, views, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
  }, [open]);
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="help-title">
      <div class="title-bar">
        <h2 id="help-title">Keys</h2>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      <dl class="facts">
        {[...views.map((title, index) => [`${index + 1}`, title]), ...otherKeys].map(
          ([names = "", effect]) => (
            <Fragment key={names}>
              <dt>
                {names.split(" ").map((name) => (
                  <kbd key={name}>{name}</kbd>
                ))}
              </dt>
              <dd>{effect}</dd>
            </Fragment>
          ),
        )}
      </dl>
    </dialog>
  );
}
