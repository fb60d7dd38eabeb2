type Props = { readonly list: { readonly done: boolean; loadOlder(): void } };

export function OlderButton({ list }: Props) {
  if (list.done) return null;
  return (
    <button type="button" class="older" onClick={list.loadOlder}>
      Load older
    </button>
  );
}
