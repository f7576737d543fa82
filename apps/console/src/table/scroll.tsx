import type { ComponentChildren, JSX } from 'preact';

interface ScrollProps {
  /** Id of its title. */
  readonly label: string;
  readonly children: ComponentChildren;
}

/** A table that is wider than a narrow page: it can be scrolled, by keyboard too. */
export const Scroll = ({ label, children }: ScrollProps): JSX.Element => (
  <div class="scroll" tabIndex={0} role="group" aria-labelledby={label}>
    {children}
  </div>
);
