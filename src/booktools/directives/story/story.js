// Tells the picture of a story which step is being read. With reduced motion it stays as it is: at the end.

const step = (story) => {
  const read = [...story.querySelectorAll(".steps > li")].filter(
    (item) => item.getBoundingClientRect().top < innerHeight * 0.55,
  );
  story.dataset.at = Math.max(read.length, 1);
};

if (!matchMedia("(prefers-reduced-motion: reduce)").matches) {
  const reading = new IntersectionObserver(
    (seen) => {
      for (const { target } of seen) step(target.closest(".story"));
    },
    { rootMargin: "0px 0px -45% 0px" },
  );
  for (const item of document.querySelectorAll(".story .steps > li")) reading.observe(item);
}
