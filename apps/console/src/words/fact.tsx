import type { ComponentChildren, JSX } from 'preact';

interface FactProps {
  readonly name: string;
  readonly children: ComponentChildren;
}

/** A fact with its name, in a list of class `facts`. */
export const Fact = ({ name, children }: FactProps): JSX.Element => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
