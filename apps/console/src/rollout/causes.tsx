import type { UpgradeRow } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useFilters } from '../address.ts';
import { Table } from '../table/table.tsx';
import { Age } from '../words/age.tsx';
import { safeText } from '../words/safe-text.ts';

/** Waits by cause, the largest first; each leads to its spokes. */
export function Waits({ waits }: Pick<UpgradeRow, 'waits'>): JSX.Element {
  const { href } = useFilters();
  if (waits.length === 0) return <p class="empty">No spoke waits.</p>;
  return (
    <Table label="waits-title" heads={['Waiting for', 'Spokes', 'Example', 'Since']} numbers={['Spokes']}>
      {waits.map(({ cause, says, clusters, example, since }) => (
        <tr key={`${cause} ${says}`}>
          <td class="text">
            <a href={href({ cause, says, state: undefined, batch: undefined })}>{safeText(says)}</a>
          </td>
          <td class="number">{clusters.toLocaleString()}</td>
          <td>
            <a href={href({ why: example })}>{example}</a>
          </td>
          <td>{since === undefined ? '–' : <Age at={since} />}</td>
        </tr>
      ))}
    </Table>
  );
}

/** Failures by cause, the largest first. */
export function Failures({ failures }: Pick<UpgradeRow, 'failures'>): JSX.Element {
  const { href } = useFilters();
  if (failures.length === 0) return <p class="empty">No spoke has failed.</p>;
  return (
    <Table label="failures-title" heads={['Failed', 'Spokes', 'Example']} numbers={['Spokes']}>
      {failures.map(({ says, clusters, example }) => (
        <tr key={says}>
          <td class="text">
            <a href={href({ state: 'failed', cause: undefined, batch: undefined, says: undefined })}>{safeText(says)}</a>
          </td>
          <td class="number">{clusters.toLocaleString()}</td>
          <td>
            <a href={href({ why: example })}>{example}</a>
          </td>
        </tr>
      ))}
    </Table>
  );
}
