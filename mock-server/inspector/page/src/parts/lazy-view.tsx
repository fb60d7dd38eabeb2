import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button } from "./controls/button.tsx";
import { Notice } from "./status/status.tsx";
import { Waiting } from "./status/waiting.tsx";

/** A view, or a part of one, that is loaded when it is first shown. */
export function lazyView<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function LazyView(props) {
    const [View, setView] = useState(() => loaded);
    const [hasFailed, setFailed] = useState(false);
    useEffect(() => {
      if (View) return;
      load().then(
        (view) => {
          loaded = view;
          setView(() => view);
        },
        () => setFailed(true),
      );
    }, []);
    if (View) return <View {...props} />;
    if (!hasFailed) {
      return (
        <div class="nothing">
          <Waiting />
        </div>
      );
    }
    return (
      <Notice tone="bad" isAlert>
        This view could not be loaded. The mock was stopped, or replaced by another version.{" "}
        <Button label="Load the page again" onClick={() => location.reload()} />
      </Notice>
    );
  };
}
