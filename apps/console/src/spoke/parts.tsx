import type { SpokeAnswer } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { upgradePath } from '../address.ts';
import { Table } from '../table/table.tsx';
import { CacheMark, SpokeMark } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';

/** Its part in each upgrade. */
export const Parts = ({ parts, name }: Pick<SpokeAnswer, 'parts' | 'name'>): JSX.Element => (
  <section aria-labelledby="parts-title">
    <h2 id="parts-title">Upgrades</h2>
    {parts.length === 0 ? (
      <p class="empty">It is in no upgrade.</p>
    ) : (
      <Table label="parts-title" heads={['Upgrade', 'State', 'Cause', 'Batch', 'Pre-cache']} numbers={['Batch']}>
        {parts.map(({ upgrade, state, batch, cached, says }) => (
          <tr key={upgrade}>
            <th scope="row">
              <a href={upgradePath(upgrade)}>{upgrade}</a>
            </th>
            <td>
              <SpokeMark state={state} />
            </td>
            <td class="text">
              {says === null ? '–' : <a href={`${upgradePath(upgrade)}?why=${encodeURIComponent(name)}`}>{safeText(says)}</a>}
            </td>
            <td class="number">{batch ?? '–'}</td>
            <td>
              <CacheMark cached={cached} />
            </td>
          </tr>
        ))}
      </Table>
    )}
  </section>
);
