// In place of undici's client of HTTP/2, which loads Node's: every connection of the operator says `allowH2: false`.
module.exports = () => {
  throw new Error("HTTP/2 is not part of the bundle");
};
