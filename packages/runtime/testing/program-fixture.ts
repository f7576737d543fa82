/** For this package's tests: a program that does what its first argument says. */
import { once } from 'node:events';
import { type OptionRows, option, readOptions, schemaOf } from '../src/options.ts';
import { runProgram } from '../src/program.ts';

const rows = {
  port: ['<port>', option.port.default(0), 'of the probes'],
  metricsPort: ['<port>', option.port.optional(), 'of the metrics'],
} satisfies OptionRows;
const schema = schemaOf(rows).extend({ logLevel: option.logLevel.default('info') });
const [behaviour = '', ...argv] = process.argv.slice(2);

await runProgram({
  name: 'fixture',
  config: () => readOptions({ program: 'fixture', description: 'A program.', rows, schema, argv, env: {} }),
  listen: ({ port, metricsPort }) => ({ host: '127.0.0.1', port, metricsPort }),
  stopWithinMs: 300,
  async main({ logger, port, signal, ready, defer }) {
    defer(async () => logger.info('Closed first'));
    defer(() => Promise.reject(new Error('cannot be closed')));
    logger.info({ port }, 'Listening');
    if (behaviour === 'fail') throw new Error('no such cluster');
    // Told over the pipe that it may be ready.
    process.once('message', () => ready());
    await once(signal, 'abort');
    if (behaviour === 'hang') await new Promise(() => setInterval(() => {}, 1000));
    process.disconnect();
  },
});
