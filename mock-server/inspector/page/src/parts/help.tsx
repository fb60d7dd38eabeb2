import { Fragment } from "preact";
import { useRef } from "preact/hooks";
import { Button } from "./controls/button.tsx";
import { useKeys } from "./controls/keys.ts";
import { deliveryStatuses, StatusBadge } from "./status/status.tsx";
import "./values/facts.css";
import "./help.css";

const otherKeys = [
  ["j k", "next and previous row (also the arrow keys, Home, End)"],
  ["/", "search everything"],
  ["f", "to the filter of the view"],
  ["n", "advance the clock to the next timer"],
  ["r", "replay the selected delivery"],
  ["Esc", "close the selected row"],
  ["?", "this list"],
];

/** The button that shows the keys of the page. */
export function Help({ views }: { readonly views: readonly string[] }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const show = () => dialog.current?.showModal();
  useKeys({ "?": show });
  return (
    <>
      <Button label="?" onClick={show} name="? Keys and words" />
      <dialog ref={dialog} aria-labelledby="help-title">
        <div class="title-bar">
          <h2 id="help-title">Keys and words</h2>
          <Button label="Close" onClick={() => dialog.current?.close()} />
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
        <h3>States of deliveries</h3>
        <dl class="facts">
          {Object.entries(deliveryStatuses).map(([status, { about }]) => (
            <Fragment key={status}>
              <dt>
                <StatusBadge status={status} of={deliveryStatuses} />
              </dt>
              <dd>{about}</dd>
            </Fragment>
          ))}
        </dl>
      </dialog>
    </>
  );
}
