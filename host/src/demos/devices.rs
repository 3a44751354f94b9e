//! Products and transposes spread over several devices, those of this process or one of each process.

use std::time::Instant;

use warpsmith_collectives::{Communicator, Job, Reduction};
use warpsmith_distributed::{DeviceGroup, GatheredProduct, SplitProduct, Transport, Transpose, shares};
use warpsmith_launch::{Bf16, Device, DevicePreference};

use super::demo::Demo;
use super::row::{self, Link, Row, Workload};
use super::stage::Stage;
use crate::data::{Random, transposed};
use crate::error::Error;
use crate::size::Size;
use crate::spread::{Matrices, Spread, all_of};
use crate::terminal::{grouped, wrapped};
use crate::verify::{Verdict, exact};

/// How long ranks wait for each other where no job says it.
pub const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(300);
/// The most operations that the virtual GPU takes of a product.
const VIRTUAL_OPERATIONS: f64 = 5e8;
/// In how many pieces the sums of a split product are added while the next are computed.
pub const PIECES: usize = 4;
/// Runs of which the median is taken.
const RUNS: usize = 5;

pub struct DevicesDemo;

impl Demo for DevicesDemo {
    fn name(&self) -> &'static str {
        "devices"
    }

    fn title(&self) -> &'static str {
        "Products and transposes over several devices"
    }

    // Its point needs several devices.
    fn is_among_all(&self) -> bool {
        false
    }

    fn is_listed(&self) -> bool {
        true
    }

    fn takes(&self, _: Size) -> bool {
        true
    }

    fn run(&self, stage: &Stage) -> Result<Vec<Row>, Error> {
        let size = stage.size_or(192, 8192);
        let extents = size.product();
        stage.admit_product(size, extents, VIRTUAL_OPERATIONS, "products over devices")?;
        let wish = if stage.device.is_virtual() { DevicePreference::Virtual } else { DevicePreference::Gpu };
        match Job::from_environment()? {
            Some(job) => {
                let ranks = [Communicator::from_job(stage.device, &job)?];
                Show { stage, size, ranks: &ranks }.rows(&[Transport::Collectives])
            }
            None => {
                let devices = Device::all(wish)?;
                let ranks = Communicator::all(&devices, TIMEOUT)?;
                let rows = Show { stage, size, ranks: &ranks }
                    .rows(&[Transport::CopyEngines, Transport::Collectives]);
                stage.device.enter()?;
                rows
            }
        }
    }

    fn text(&self, rows: &[Row]) -> String {
        let mut out = row::text(rows);
        out.push_str("What went from device to device:\n");
        for row in rows {
            out.push_str(&wrapped("  ", &format!("{}: {}", row.name(), moved(&row.links))));
        }
        out
    }
}

/// Traffic over links, in words: by link, and to each device.
fn moved(links: &[Link]) -> String {
    let span = |values: &[u64]| match (values.iter().min(), values.iter().max()) {
        (Some(low), Some(high)) if low == high => format!("{} bytes", grouped(*low)),
        (Some(low), Some(high)) => format!("{} to {} bytes", grouped(*low), grouped(*high)),
        _ => "nothing".to_owned(),
    };
    let ranks: std::collections::BTreeSet<usize> =
        links.iter().flat_map(|link| [link.from, link.to]).collect();
    if ranks.is_empty() {
        return "nothing".to_owned();
    }
    let to = |rank: usize| links.iter().filter(|link| link.to == rank).map(|link| link.bytes).sum();
    let received: Vec<u64> = ranks.into_iter().map(to).collect();
    let each: Vec<u64> = links.iter().map(|link| link.bytes).collect();
    format!("{} links of {}; each device received {}", links.len(), span(&each), span(&received))
}

/// Source of the rows.
struct Show<'a, 's> {
    stage: &'a Stage<'s>,
    size: Size,
    ranks: &'a [Communicator<'a>],
}

impl Show<'_, '_> {
    fn rows(&self, transports: &[Transport]) -> Result<Vec<Row>, Error> {
        let mut rows = Vec::new();
        for &transport in transports {
            let group = DeviceGroup::new(self.ranks, transport)?;
            rows.extend(self.gathered::<f32>(&group, transport)?);
            rows.extend(self.gathered::<Bf16>(&group, transport)?);
            rows.extend(self.transposed(&group, transport)?);
        }
        let group = DeviceGroup::new(self.ranks, Transport::Collectives)?;
        rows.extend(self.split::<f32>(&group)?);
        rows.extend(self.split::<Bf16>(&group)?);
        Ok(rows)
    }

    fn devices(&self) -> String {
        let size = self.ranks[0].size();
        format!("{size} device{}", if size == 1 { "" } else { "s" })
    }

    fn row(&self, kernel: &str, what: &str, transport: Transport) -> Row {
        let by = match transport {
            Transport::CopyEngines => "copies",
            Transport::Collectives => "collectives",
        };
        let case = format!("{what}, {}, {by}", self.devices());
        Row::new("devices", kernel, case, self.size, self.stage.device.kind())
    }

    /// Rows of A on each device, columns of B gathered: with and without overlap.
    fn gathered<I: Spread>(&self, group: &DeviceGroup<'_>, transport: Transport) -> Result<Vec<Row>, Error> {
        let kernels = ["product_gathered", "product_gathered_first"];
        if !kernels.iter().any(|kernel| self.stage.wants(kernel)) {
            return Ok(Vec::new());
        }
        let matrices = Matrices::<I>::random(self.size.product());
        let (m, n, k) = matrices.extents;
        let product = GatheredProduct::<I, I::C>::new(
            group,
            matrices.extents,
            (I::INPUT, I::OUTPUT),
            |rows| matrices.rows(rows),
            |columns| matrices.columns(columns),
        )?
        .with_whole()?;
        let work = Workload { flops: 2.0 * m as f64 * n as f64 * k as f64, bytes: 0.0 };
        let mut rows = Vec::new();
        let forms = [
            (kernels[0], "columns of B come while those before are multiplied"),
            (kernels[1], "the same without overlap: all of B comes first"),
        ];
        for (kernel, shows) in forms.into_iter().filter(|(kernel, _)| self.stage.wants(kernel)) {
            self.stage.progress.step(kernel);
            product.wipe()?;
            let run = || if kernel == kernels[0] { product.run() } else { product.run_plain() };
            self.forget();
            run()?;
            let links = self.links(group)?;
            let ranks = group.ranks().iter().zip(product.results()?);
            let verdict = ranks.map(|(rank, c)| matrices.check(shares(m, rank.size(), rank.rank()), &c));
            let time = self.time(group, || Ok(run()?))?;
            let row = Row { links, ..self.row(kernel, I::INPUT.name(), transport) };
            rows.push(row.checked(all_of(verdict)).timed(time, work).shows(shows));
        }
        Ok(rows)
    }

    /// A part of K on each device.
    fn split<I: Spread>(&self, group: &DeviceGroup<'_>) -> Result<Vec<Row>, Error> {
        let kernel = "product_split";
        if !self.stage.wants(kernel) {
            return Ok(Vec::new());
        }
        self.stage.progress.step(kernel);
        let matrices = Matrices::<I>::random(self.size.product());
        let (m, n, k) = matrices.extents;
        let product = SplitProduct::<I>::new(
            group,
            matrices.extents,
            I::INPUT,
            PIECES,
            |part| matrices.part_of_a(part),
            |part| matrices.part_of_b(part),
        )?;
        self.forget();
        product.run()?;
        let links = self.links(group)?;
        let ranks = group.ranks().iter().zip(product.results()?);
        let verdict: Vec<Verdict> =
            ranks.map(|(rank, c)| matrices.check(product.rows_of(rank.rank()), &c)).collect();
        let time = self.time(group, || Ok(product.run()?))?;
        let work = Workload { flops: 2.0 * m as f64 * n as f64 * k as f64, bytes: 0.0 };
        let row = Row { links, ..self.row(kernel, I::INPUT.name(), Transport::Collectives) };
        let shows =
            "each device has a part of K; a reduce-scatter adds some rows' sums while the next are computed";
        Ok(vec![row.checked(all_of(verdict)).timed(time, work).shows(shows)])
    }

    /// Rows on each device, before and after.
    fn transposed(&self, group: &DeviceGroup<'_>, transport: Transport) -> Result<Vec<Row>, Error> {
        let kernel = "transpose_exchanged";
        if !self.stage.wants(kernel) {
            return Ok(Vec::new());
        }
        self.stage.progress.step(kernel);
        let (rows, cols, _) = self.size.product();
        let matrix = Random::new(13).units(rows * cols);
        let mut transpose =
            Transpose::new(group, (rows, cols), |own| matrix[own.start * cols..own.end * cols].to_vec())?;
        self.forget();
        transpose.run()?;
        let links = self.links(group)?;
        let expected = transposed(&matrix, rows, cols);
        let ranks = group.ranks().iter().zip(transpose.results()?);
        let verdict: Vec<Verdict> = ranks
            .map(|(rank, result)| {
                let own = shares(cols, rank.size(), rank.rank());
                exact(&result, &expected[own.start * rows..own.end * rows])
            })
            .collect();
        let time = self.time(group, || Ok(transpose.run()?))?;
        let work = Workload { flops: 0.0, bytes: 2.0 * (rows * cols * 4) as f64 };
        let row = Row { links, ..self.row(kernel, "f32", transport) };
        let shows = "each device transposes its rows, and all exchange";
        Ok(vec![row.checked(all_of(verdict)).timed(time, work).shows(shows)])
    }

    /// The median time of `run` by the host's clock; nothing where devices are virtual.
    fn time(
        &self,
        group: &DeviceGroup<'_>,
        mut run: impl FnMut() -> Result<(), Error>,
    ) -> Result<Option<f64>, Error> {
        if self.stage.device.is_virtual() {
            return Ok(None);
        }
        let mut times = Vec::new();
        for _ in 0..RUNS {
            let begun = Instant::now();
            run()?;
            group.synchronize()?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        Ok(Some(times[times.len() / 2]))
    }

    /// Counts from here on.
    fn forget(&self) {
        self.ranks.iter().for_each(|rank| drop(rank.traffic().take()));
    }

    /// Bytes from rank to rank since then; each process knows those that it received, and all add up theirs.
    fn links(&self, group: &DeviceGroup<'_>) -> Result<Vec<Link>, Error> {
        group.synchronize()?;
        let size = group.size();
        let mut table = vec![0u64; size * size];
        // Ranks of one process count together.
        for ((from, to), bytes) in self.ranks[0].traffic().take() {
            table[from * size + to] += bytes;
        }
        if self.ranks.len() < size {
            let rank = &self.ranks[0];
            let mut sum = rank.device().upload(&table)?;
            rank.all_reduce_in_place(&mut sum, Reduction::Sum)?.launch()?;
            table = sum.to_vec()?;
        }
        let link = |index: usize| Link { from: index / size, to: index % size, bytes: table[index] };
        Ok((0..table.len()).map(link).filter(|link| link.bytes > 0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moved_is_said_by_link_and_by_device() {
        let link = |from, to, bytes| Link { from, to, bytes };
        assert_eq!(moved(&[]), "nothing");
        assert_eq!(
            moved(&[link(0, 1, 2048), link(1, 0, 2048)]),
            "2 links of 2,048 bytes; each device received 2,048 bytes"
        );
        assert_eq!(
            moved(&[link(0, 1, 10), link(2, 1, 20)]),
            "2 links of 10 to 20 bytes; each device received 0 to 30 bytes"
        );
    }
}
