import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { Change } from './change.tsx';
import { changeWords, type Offer } from './offer.ts';

const opened = signal<Offer | undefined>(undefined);

/** Changes that somebody may want: each is checked and shown before it is made, and its end is shown though others are offered by then. */
export function Steer({ offers }: { readonly offers: readonly Offer[] }): JSX.Element {
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
              onClick={() => {
                opened.value = offer;
              }}
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
    </>
  );
}

/** The change that somebody is about to make. Its dialog stays though what it is about goes, and is no part of any view. */
export function Steering(): JSX.Element | null {
  const offer = opened.value;
  if (!offer) return null;
  const end = (): void => {
    opened.value = undefined;
  };
  return <Change offer={offer} onEnd={end} />;
}
