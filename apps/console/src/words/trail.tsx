import type { ComponentChildren, JSX } from 'preact';

/** The way back to the fleet, and what lies between. */
export const Trail = ({ children }: { readonly children?: ComponentChildren }): JSX.Element => (
  <nav class="trail" aria-label="Where this is">
    <a href="/">Fleet</a>
    {children}
  </nav>
);
