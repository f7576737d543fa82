import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { spokePath, upgradePath, useFilters } from '../address.ts';
import { useWorld } from '../world-context.ts';
import { Why } from './chain.tsx';

interface PanelProps {
  readonly upgrade: string;
  readonly cluster: string;
}

/** Why the spoke waits that the address asks about. */
export function WhyPanel({ upgrade, cluster }: PanelProps): JSX.Element {
  const { href } = useFilters();
  const { members, spokes } = useWorld();
  void spokes.version.value;
  void members.version.value;
  const row = members.get(cluster) ?? spokes.get(cluster);
  const changes = `${row?.state} ${row?.says}`;
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), [upgrade, cluster]);
  return (
    <aside class="panel" aria-labelledby="why-title">
      <header>
        <h2 id="why-title" tabIndex={-1} ref={title}>
          Why <a href={spokePath(cluster)}>{cluster}</a> is so in <a href={upgradePath(upgrade)}>{upgrade}</a>
        </h2>
        <a class="button" href={href({ why: undefined })}>
          Close
        </a>
      </header>
      <Why upgrade={upgrade} cluster={cluster} changes={changes} />
    </aside>
  );
}
