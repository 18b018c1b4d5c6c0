// fonts.mjs   writes the fonts in desktop/src/styles/fonts from their npm packages: the characters and weights that the pages
// use. It runs when a font has a new version, so its packages are not among those of the project:
//   npm install --no-save @fontsource-variable/inter@5.3.0 @fontsource-variable/jetbrains-mono@5.3.0 pretendard@1.3.9 subset-font@2.9.0
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const out = fileURLToPath(new URL("../desktop/src/styles/fonts", import.meta.url));
const subset = require("subset-font");

/** The characters from the first to the last code point. */
const range = (first, last) => Array.from({ length: last - first + 1 }, (_, i) => String.fromCodePoint(first + i)).join("");

const hangul = range(0xac00, 0xd7a3);
// The 2,350 syllables of KS X 1001, which nearly all Korean texts consist of. Its encoder has them in 25 rows of 94.
const euckr = new TextDecoder("euc-kr");
const common = Array.from({ length: 25 * 94 }, (_, i) => euckr.decode(new Uint8Array([0xb0 + Math.floor(i / 94), 0xa1 + (i % 94)]))).join("");
const rest = [...hangul].filter((c) => !common.includes(c)).join("");
const korean = range(0x1100, 0x11ff) + range(0x3000, 0x303f) + range(0x3130, 0x318f) + range(0xff01, 0xffe6);
const latin = range(0x20, 0x7e) + range(0xa0, 0x17f) + range(0x2000, 0x206f) + range(0x20a0, 0x20bf) + range(0x2100, 0x215f) + range(0x2190, 0x21ff) + range(0x2200, 0x22ff);
const boxes = range(0x2500, 0x25ff);

/** name: the package, its file, and the characters. */
const fonts = {
  inter: ["@fontsource-variable/inter", "inter-latin-wght-normal", latin],
  "inter-ext": ["@fontsource-variable/inter", "inter-latin-ext-wght-normal", latin + range(0x180, 0x24f)],
  mono: ["@fontsource-variable/jetbrains-mono", "jetbrains-mono-latin-wght-normal", latin + boxes],
  korean: ["pretendard", "dist/web/variable/woff2/PretendardVariable", common + korean],
  "korean-rest": ["pretendard", "dist/web/variable/woff2/PretendardVariable", rest],
};
const licences = { "@fontsource-variable/inter": "inter", "@fontsource-variable/jetbrains-mono": "mono", pretendard: "korean" };

for (const [name, [pkg, file, text]] of Object.entries(fonts)) {
  const folder = require.resolve(`${pkg}/package.json`).replace(/package\.json$/, "");
  const source = await readFile(`${folder}${pkg === "pretendard" ? "" : "files/"}${file}.woff2`);
  // The names 0, 13 and 14 are the copyright and the licence.
  const data = await subset(source, text, { targetFormat: "woff2", variationAxes: { wght: { min: 400, max: 700, default: 400 } }, preserveNameIds: [0, 13, 14] });
  await writeFile(`${out}/${name}.woff2`, data);
  console.log(`${name}: ${data.length} bytes of ${source.length}`);
}
for (const [pkg, name] of Object.entries(licences)) {
  const folder = require.resolve(`${pkg}/package.json`).replace(/package\.json$/, "");
  await copyFile(`${folder}${pkg === "pretendard" ? "dist/" : ""}LICENSE${pkg === "pretendard" ? ".txt" : ""}`, `${out}/${name}.LICENSE.txt`);
}
