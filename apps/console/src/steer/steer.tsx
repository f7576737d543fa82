import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Change } from './change.tsx';
import { changeWords, type Offer } from './offer.ts';

/** Changes that somebody may want: each is checked and shown before it is made, and its end is shown though others are offered by then. */
export function Steer({ offers }: { readonly offers: readonly Offer[] }): JSX.Element {
  const [opened, setOpened] = useState<Offer>();
  // One sentence for all of them: it is mostly the same right that is missing.
  const lacks = [...new Set(offers.flatMap(({ lack }) => lack ?? []))];
  return (
    <>
      {offers.length > 0 && (
        <div class="actions" role="group" aria-label="Changes">
          {offers.map((offer) => (
            <button
              key={`${offer.action} ${offer.label}`}
              type="button"
              disabled={offer.lack !== null}
              title={offer.lack ?? undefined}
              onClick={() => setOpened(offer)}
            >
              {offer.label ?? changeWords[offer.action]}…
            </button>
          ))}
        </div>
      )}
      {lacks.map((lack) => (
        <p key={lack} class="lack">
          {lack}
        </p>
      ))}
      {opened !== undefined && (
        <Change offer={opened} title={`${changeWords[opened.action]} ${opened.of}`} onEnd={() => setOpened(undefined)} />
      )}
    </>
  );
}
