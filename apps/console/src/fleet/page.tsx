import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useFilters } from '../address.ts';
import { WhyPanel } from '../why/panel.tsx';
import { useWorld } from '../world-context.ts';
import { Limits } from './limits.tsx';
import { Spokes } from './spokes.tsx';
import { Summary } from './summary.tsx';
import { Timeline } from './timeline.tsx';
import { Upgrades } from './upgrades.tsx';

/** All upgrades and all spokes. */
export function FleetPage(): JSX.Element {
  const world = useWorld();
  const { query } = useFilters();
  useEffect(() => {
    world.look(undefined);
    document.title = 'Fleet · Flotilla';
  }, [world]);
  const asked = query.why === undefined ? undefined : world.spokes.get(query.why);
  return (
    <main id="main" class="page">
      <a class="skip" href="#spokes-title">
        To the spokes
      </a>
      <h1>Fleet</h1>
      <Summary />
      <Limits />
      <Upgrades />
      <Timeline />
      {asked?.upgrade != null && <WhyPanel upgrade={asked.upgrade} cluster={asked.key} />}
      <Spokes />
    </main>
  );
}
