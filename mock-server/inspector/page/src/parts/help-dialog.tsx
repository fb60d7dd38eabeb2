import { useEffect, useRef } from "preact/hooks";
import { Fact, Facts } from "./values/fact.tsx";
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
      <Facts>
        {views.map((title, index) => (
          <Fact key={title} name={keysOf(String(index + 1))}>
            {title}
          </Fact>
        ))}
        <Fact name={keysOf("j k")}>next and previous row (also the arrow keys, Home, End)</Fact>
        <Fact name={keysOf("/")}>search everything</Fact>
        <Fact name={keysOf("f")}>to the filter of the view</Fact>
        <Fact name={keysOf("n")}>advance the clock to the next timer</Fact>
        <Fact name={keysOf("r")}>replay the selected delivery</Fact>
        <Fact name={keysOf("Esc")}>close the selected row</Fact>
        <Fact name={keysOf("?")}>this list</Fact>
      </Facts>
    </dialog>
  );
}

const keysOf = (names: string) => names.split(" ").map((name) => <kbd key={name}>{name}</kbd>);
