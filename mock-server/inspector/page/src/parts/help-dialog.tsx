import { useEffect, useRef } from "preact/hooks";

type Props = { readonly open: boolean; readonly places: readonly string[]; readonly onClose: () => void };

export function HelpDialog({ open, places, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
  }, [open]);
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="help-title">
      <div class="head">
        <h2 id="help-title">Keys</h2>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      <dl class="facts">
        {places.map((title, index) => (
          <Key key={title} name={String(index + 1)} does={title} />
        ))}
        <Key name="j k" does="next and previous row (also the arrow keys, Home, End)" />
        <Key name="/" does="to the filter of the view" />
        <Key name="n" does="advance the clock to what is due next" />
        <Key name="r" does="replay the chosen delivery" />
        <Key name="Esc" does="close what is chosen" />
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
