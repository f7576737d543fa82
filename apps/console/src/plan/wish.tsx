import type { JSX } from 'preact';
import { useFilters } from '../address.ts';

/** Figures that a plan goes by; all of them are in the address. */
export function Wish(): JSX.Element {
  const { query, set } = useFilters();
  return (
    <form
      class="wish"
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        const text = (name: string): string | undefined => {
          const value = form.get(name);
          return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
        };
        set({ batchMinutes: text('batchMinutes'), rate: text('rate'), images: text('images') });
      }}
    >
      <label>
        Minutes a batch takes
        <input name="batchMinutes" type="number" min="0.1" step="any" max="100000" defaultValue={query.batchMinutes ?? ''} />
      </label>
      <label>
        A spoke pulls, a second
        <input
          name="rate"
          placeholder="6MB"
          pattern="\d+(\.\d+)?(kB|MB|GB)?"
          title="Bytes such as 6MB or 800kB"
          defaultValue={query.rate ?? ''}
        />
      </label>
      <label class="check">
        <input name="images" type="checkbox" value="yes" defaultChecked={query.images === 'yes'} /> Look the images up in their registries
      </label>
      <button type="submit">Reckon</button>
    </form>
  );
}
