import type { SpokeAnswer, SpokeRow } from '@flotilla/api/answers';
import { bytes } from '@flotilla/api/units';
import type { JSX } from 'preact';
import { Age } from '../words/age.tsx';
import { Bar } from '../words/bar.tsx';
import { Fact } from '../words/fact.tsx';
import { CacheMark } from '../words/marks.tsx';

interface ImagesProps {
  readonly images: SpokeAnswer['images'];
  readonly row: SpokeRow | undefined;
}

/** Pre-caching of a spoke, as far as it is reported. */
export function Images({ images, row }: ImagesProps): JSX.Element | null {
  const cached = row?.cached ?? null;
  if (!images && cached === null) return null;
  return (
    <section aria-labelledby="images-title">
      <h2 id="images-title">Pre-cache</h2>
      <dl class="facts">
        {cached !== null && (
          <Fact name="State">
            <CacheMark cached={cached} />
          </Fact>
        )}
        {images ? (
          <>
            <Fact name="Images there">
              <Bar label="images" done={images.done} of={images.total} />
            </Fact>
            <Fact name="Bytes there">
              {bytes(images.bytesDone)} of {bytes(images.bytesTotal)}
            </Fact>
            <Fact name="Rate">{images.bytesPerSecond > 0 ? `${bytes(images.bytesPerSecond)}/s` : 'stands still'}</Fact>
            <Fact name="Reported">
              <Age at={images.at} form="ago" />
            </Fact>
          </>
        ) : (
          <Fact name="Images">{cached === 'Succeeded' ? 'all there when the pull ended' : 'its puller has reported none yet'}</Fact>
        )}
      </dl>
    </section>
  );
}
