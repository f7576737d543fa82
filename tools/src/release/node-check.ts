/**
 * JavaScript that any Node can run: under a Node older than `minimum` it prints one line and exits with 1.
 * @param minimum major and minor, as in `24.11`
 */
export function nodeCheck(minimum: string): string {
  const [major, minor] = minimum.split('.').map(Number);
  const advice = 'Install it, or take the archive of the release that has its own Node: flotilla-VERSION-linux-amd64.tar.gz or -arm64.';
  return [
    '(function (v) {',
    `if (+v[0] > ${major} || (+v[0] === ${major} && +v[1] >= ${minor})) return;`,
    `process.stderr.write("flotilla needs Node ${minimum} or later; this is Node " + v.join(".") + " (" + process.execPath + "). ${advice}\\n");`,
    'process.exit(1);',
    '})(process.versions.node.split("."));',
  ].join(' ');
}
