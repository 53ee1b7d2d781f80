// Saves the chart named in `data.chart` as SVG or PNG: plotly's own camera is pressed with the format wanted.
const SCALE = 2; // pixels of a PNG per pixel of the screen
const PATIENCE = 10000; // ms within which the camera has made its file

// The camera clicks a link outside of the pocket, which would close the pocket and take the figure away under its hands.
function keepOpen() {
  const hush = (event) => event.target.download !== undefined && event.stopPropagation();
  window.addEventListener("click", hush, true);
  setTimeout(() => window.removeEventListener("click", hush, true), PATIENCE);
}

export default function ({ data, parentElement }) {
  const status = parentElement.querySelector("span");
  for (const button of parentElement.querySelectorAll("button")) {
    button.onclick = () => {
      const gd = document.querySelector(`.st-key-${data.chart} .js-plotly-plot`);
      const camera = gd && [...gd.querySelectorAll(".modebar-btn")].find((one) => one.querySelector("path") && /download/i.test(one.dataset.title || ""));
      if (!camera) {
        status.textContent = "The figure is not drawn yet.";
        return;
      }
      status.textContent = "";
      const format = button.dataset.format;
      gd._context.toImageButtonOptions = { format, filename: data.name, scale: format === "png" ? SCALE : 1 };
      keepOpen();
      camera.click();
    };
  }
}
