import type { MemberRow } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { useRoute } from 'preact-iso';
import { useFilters } from '../address.ts';
import { WhyPanel } from '../why/panel.tsx';
import { Trail } from '../words/trail.tsx';
import { useWorld } from '../world-context.ts';
import { Batches } from './batches.tsx';
import { Failures, Waits } from './causes.tsx';
import { Dense } from './dense.tsx';
import { Events } from './events.tsx';
import { Head } from './head.tsx';
import { Members } from './members.tsx';
import { Progress } from './progress.tsx';

/** One upgrade. */
export function RolloutPage(): JSX.Element {
  const world = useWorld();
  const { params } = useRoute();
  const { query } = useFilters();
  const key = `${params.namespace}/${params.name}`;
  useEffect(() => {
    world.look(key);
    document.title = `${key} · Flotilla`;
  }, [world, key]);
  const row = world.upgrades.get(key);
  const members = world.members.values();
  const inOrder = useMemo(() => members.toSorted(byBatch), [members]);
  return (
    <main id="main" class="page">
      <Trail />
      {row ? (
        <Head row={row} rights={world.rights.value} />
      ) : (
        <>
          <h1>{key}</h1>
          <p class="empty">
            {world.rights.value?.upgrades ?? (world.isFilled.value ? 'There is no such ClusterGroupUpgrade, or no more.' : 'Opening…')}{' '}
            <a href="/">To the fleet</a>
          </p>
        </>
      )}
      {query.why !== undefined && <WhyPanel upgrade={key} cluster={query.why} />}
      {row && (
        <>
          <section aria-labelledby="batches-title">
            <h2 id="batches-title">
              Batches <small>{row.batch.current > 0 ? `${row.batch.current} of ${row.batch.of}` : row.batch.of}</small>
            </h2>
            <Batches row={row} members={members} />
          </section>
          <Dense members={inOrder} />
          <div class="beside">
            <section aria-labelledby="waits-title">
              <h2 id="waits-title">Waits</h2>
              <Waits waits={row.waits} />
            </section>
            <section aria-labelledby="failures-title">
              <h2 id="failures-title">Failures</h2>
              <Failures failures={row.failures} />
            </section>
          </div>
          <Progress row={row} />
          <Members key={`spokes of ${key}`} members={members} upgrade={row} />
          <Events key={`events of ${key}`} upgrade={key} />
        </>
      )}
    </main>
  );
}

const byBatch = (a: MemberRow, b: MemberRow): number =>
  (a.batch ?? Number.MAX_SAFE_INTEGER) - (b.batch ?? Number.MAX_SAFE_INTEGER) || (a.key < b.key ? -1 : 1);
