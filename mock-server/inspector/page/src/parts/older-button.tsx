import { ActionButton, useAction } from "./action.tsx";

type Props = { readonly list: { readonly done: boolean; loadOlder(): Promise<void> } };

export function OlderButton({ list }: Props) {
  const action = useAction();
  if (list.done) return null;
  return (
    <div class="nothing">
      <ActionButton action={action} onRun={list.loadOlder}>
        Load older
      </ActionButton>
      {action.notice}
    </div>
  );
}
