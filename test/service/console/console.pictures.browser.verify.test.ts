import { expect, it } from "vitest";
import { digestIn, digestOf, pictures, sizeOf, stage, takePictures, width } from "./pictures.ts";
import { Site } from "./site.ts";

it("the pictures of the documentation can be taken, and each shows its page as it is now", async () => {
  const service = stage();
  await using site = await Site.open(service);
  const taken = new Map<string, Buffer>();
  await takePictures(site, service, ({ file }, png) => taken.set(file, png));
  expect(site.complaints).toEqual([]);
  for (const picture of pictures) {
    const png = taken.get(picture.file) ?? Buffer.alloc(0);
    expect([picture.file, digestIn(png), sizeOf(png)]).toEqual([
      picture.file,
      digestOf(picture, service),
      { width, height: picture.height },
    ]);
  }
  // The browser that reads a picture again finds it whole, with its text in it.
  const [first] = taken.values();
  const source = `data:image/png;base64,${first?.toString("base64")}`;
  const blank = await site.page.context().browser()?.newPage();
  await blank?.setContent(`<img alt="" src="${source}">`);
  const decoded = blank
    ?.locator("img")
    .evaluate((image: { decode(): Promise<void>; naturalWidth?: number }) =>
      image.decode().then(() => image.naturalWidth),
    );
  expect(await decoded).toBe(width);
});
