import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { age } from './units.ts';

/** The time by the second. */
const now = signal(Date.now());
const SECOND_MS = 1_000;
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, SECOND_MS);

/** The time since, which goes on. */
export const Age = ({ at }: { readonly at: string | null | undefined }): JSX.Element => (
  <time class="age" dateTime={at ?? ''}>
    {age(at, now.value)}
  </time>
);

/** The time until or since, as a text. */
export const useNow = (): number => now.value;
