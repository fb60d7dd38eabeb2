import { useEffect, useRef } from "preact/hooks";
import "./help-dialog.css";

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
        {views.map((title, index) => (
          <Key key={title} name={String(index + 1)} does={title} />
        ))}
        <Key name="j k" does="next and previous row (also the arrow keys, Home, End)" />
        <Key name="/" does="to the filter of the view" />
        <Key name="n" does="advance the clock to the next timer" />
        <Key name="r" does="replay the selected delivery" />
        <Key name="Esc" does="close the selected row" />
        <Key name="?" does="this list" />
      </dl>
    </dialog>
  );
}

function Key({ name, does }: { readonly name: string; readonly does: string }) {
  return (
    <>
      <dt>
        {name.split(" ").map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{does}</dd>
    </>
  );
}
