import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { spokePath, upgradePath, useFilters, WHOLE } from '../address.ts';
import { useWorld } from '../world-context.ts';
import { Why } from './chain.tsx';

interface PanelProps {
  readonly upgrade: string;
  readonly cluster: string;
}

/** Why the spoke waits that the address asks about, or the upgrade as a whole. */
export function WhyPanel({ upgrade, cluster }: PanelProps): JSX.Element {
  const { href } = useFilters();
  const { members, spokes, upgrades } = useWorld();
  const isWhole = cluster === WHOLE;
  const row = isWhole ? undefined : (members.get(cluster) ?? spokes.get(cluster));
  const whole = isWhole ? upgrades.get(upgrade) : undefined;
  const changes = `${row?.state} ${row?.says} ${whole?.stage} ${whole?.says} ${whole?.batch.current}`;
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), [upgrade, cluster]);
  return (
    <aside class="panel" aria-labelledby="why-title">
      <header>
        <h2 id="why-title" tabIndex={-1} ref={title}>
          Why{' '}
          {isWhole ? (
            upgrade
          ) : (
            <>
              <a href={spokePath(cluster)}>{cluster}</a> is so in <a href={upgradePath(upgrade)}>{upgrade}</a>
            </>
          )}
        </h2>
        <a class="button" href={href({ why: undefined })}>
          Close
        </a>
      </header>
      <Why upgrade={upgrade} cluster={isWhole ? undefined : cluster} changes={changes} />
    </aside>
  );
}
